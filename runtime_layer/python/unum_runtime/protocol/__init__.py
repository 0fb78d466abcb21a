"""What a delivery does; `step` has it on one screen."""
