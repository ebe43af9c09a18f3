"""Pure logic: no IO, no clock, no logging. Everything here is a function of its arguments."""
