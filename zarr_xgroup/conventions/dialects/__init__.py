"""What real stores write without declaring it: handlers as those of conventions, one module each."""
