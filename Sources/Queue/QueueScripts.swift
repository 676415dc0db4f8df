import Redis

/// The atomic steps of a job's life, in one file for each part of it.
///
/// The first write of a script that settles or moves jobs takes no memory, as Redis then runs it even when its memory is full.
/// Every key is declared. Nothing fails after a write: what others may have changed is checked before. Only a right may be
/// missing, which Redis tells when it is needed: the job is then put back (``placing``). A key that a script
/// has emptied is not accessed again: while a cluster moves its slot, Redis refuses that.
package enum QueueScripts {
  /// Lua: `place(list, job, ...)` runs the command that gives a place to a job that was taken from the left end of a list, or from
  /// none. If Redis refuses the command, the job goes back there, and the error is returned.
  static let placing = """
    local function place(list, job, ...)
      local done = redis.pcall(...)
      if type(done) ~= 'table' then return nil end
      if list then redis.call('LPUSH', list, job) end
      return done
    end
    """

  /// What a worker loads into Redis when it connects.
  static let all = [
    claim, unanswered, acknowledge, finish, move, handBack, separateRecord, heartbeat, leave, handBackAll, reap,
    promote, commitProgress, clearProgress, keepNotification, oldest, ControlScripts.screen,
    ControlScripts.noteBroadcast,
  ]
}
