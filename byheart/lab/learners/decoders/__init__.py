"""One layer of attention, perhaps with neurons: madden2024 and those of dana2024."""
