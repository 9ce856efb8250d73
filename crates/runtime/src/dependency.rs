//! What is called outside: a breaker, a bulkhead and a rate, declared once and shared by all who call it.
