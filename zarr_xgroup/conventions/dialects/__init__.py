"""Handlers of attributes that real stores write without declaring a convention."""
