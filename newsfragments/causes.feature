A refusal shows at most 100 causes and the beginning of long values, and says when there are more.
