"""AgLoop: the state of an agentic loop that goes from an idea to verified tasks."""
