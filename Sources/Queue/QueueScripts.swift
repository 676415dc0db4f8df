import Redis

/// The atomic steps of a job's life, in one file for each part of it.
///
/// The first write of a script that settles or moves jobs takes no memory, as Redis then runs it even when its memory is full.
/// Every key is declared. Nothing fails after a write: what others may have changed is checked before. A key that a script
/// has emptied is not accessed again: while a cluster moves its slot, Redis refuses that.
package enum QueueScripts {
  /// What a worker loads into Redis when it connects.
  static let all = [
    claim, unanswered, acknowledge, finish, move, handBack, separateRecord, heartbeat, leave, handBackAll, reap,
    promote, commitProgress, clearProgress, keepNotification, oldest, ControlScripts.screen,
    ControlScripts.noteBroadcast,
  ]
}
