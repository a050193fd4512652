"""What a person can change on the page; `holdfast.web.table` lists it."""
