"""Dates and months of entries."""

import datetime


def parse_date(text: str) -> datetime.date:
    """Read `2026-03-01`."""
    return datetime.date.fromisoformat(text)


def month_of(day: datetime.date) -> str:
    return f"{day.year:04d}-{day.month:02d}"


def in_month(day: datetime.date, month: str) -> bool:
    return month_of(day) == month
