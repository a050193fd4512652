"""The content of each page as plain data; `holdfast.web.table` lists them."""
