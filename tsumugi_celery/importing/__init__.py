"""Reading the schedules of other beats, and writing them as definitions of this package."""
