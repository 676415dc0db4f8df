import EventLoop
import Queue

/// Tells the dead letters that were there when a command began from those of jobs that it requeued and that were buried
/// again meanwhile. The letters of a queue are passed newest first.
struct KnownLetters {
  /// Unix ms. Workers date the letters: a worker whose clock is fast writes dates that are still to come.
  private var newest: Int64?
  private var taken: Set<String> = []

  private func isNew(_ letter: DeadLetter) -> Bool {
    letter.at > (newest ?? 0) || letter.envelope.nonce.map(taken.contains) == true
  }

  mutating func includes(_ letter: DeadLetter, now: Int64 = Clock.unixMilliseconds) -> Bool {
    if newest == nil { newest = max(now, letter.at) }
    return !isNew(letter)
  }

  /// The job of the letter was requeued.
  mutating func take(_ letter: DeadLetter) {
    if let nonce = letter.envelope.nonce { taken.insert(nonce) }
  }
}
