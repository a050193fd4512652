"""What each page shows, as plain data; `holdfast.web.table` lists them."""
