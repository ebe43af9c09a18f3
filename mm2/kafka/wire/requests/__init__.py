"""Requests to brokers and their responses, by what is asked; others are aiokafka's own."""
