"""What a process measures of itself, and how that is written down (reference METRIC-1).

Series are plain numbers that the reactor's thread alone changes; everybody may have some. Which families there are
stands beside what they measure, and a `Registry` has those that `/metrics` shows.
"""
