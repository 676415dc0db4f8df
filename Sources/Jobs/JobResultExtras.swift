import PushModel

/// What only some records have.
///
/// A class: a record is copied several times for each job, which costs more when it is larger than 128 bytes.
@usableFromInline
final class JobResultExtras: Sendable, Equatable {
  let history: JobHistory
  let trace: String?
  let turn: AttemptTurn

  /// Returns nil if there is nothing to keep.
  init?(history: JobHistory, trace: String?, turn: AttemptTurn) {
    guard !history.isEmpty || trace != nil || turn != AttemptTurn() else { return nil }
    self.history = history
    self.trace = trace
    self.turn = turn
  }

  @usableFromInline
  static func == (left: JobResultExtras, right: JobResultExtras) -> Bool {
    left.history == right.history && left.trace == right.trace && left.turn == right.turn
  }
}
