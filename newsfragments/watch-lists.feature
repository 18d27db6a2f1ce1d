`sendInitialEvents` lets a watch begin with the state, whose end an annotated bookmark marks.
