"""State of executions in Azure Cosmos DB."""
