"""What an offset manager decides (KAFKA-1012): its table, its log's records, who leads."""
