"""Protocol of deliveries; `step` shows it on one screen."""
