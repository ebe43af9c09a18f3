"""TLS and SASL in Java's terms."""
