"""What a person can do on the page; `holdfast.web.table` lists it."""
