"""Operations on running and finished executions: stop, redrive, fork, nudge, sweep."""
