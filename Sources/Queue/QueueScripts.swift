import Redis

/// The atomic steps of a job's life, in one file for each part of it. A script with a single caller is in its file.
///
/// The first write of each script takes no memory, as Redis then runs it even when its memory is full. Every key is
/// declared. Nothing fails after a write: what others may have changed is checked before.
enum QueueScripts {
  /// What a worker loads into Redis when it connects.
  static let all = [
    claim, ghosts, acknowledge, settle, record, join, heartbeat, leave, handBack, reap, promote, commitProgress,
    clearProgress, keepNotification,
  ]
}
