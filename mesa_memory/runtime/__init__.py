"""The wiring: who performs what memories ask for, when, and for whom."""
