//! Streaming documents from local text, JSON Lines, CSV and Parquet, resumable at any record.
