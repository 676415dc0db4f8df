import APNs

extension SendOutcome {
  /// For the record; 0 when there was no answer.
  var status: Int {
    if case .answered(let answer) = self { answer.status } else { 0 }
  }

  /// For the record; nil for an accepted push.
  var reason: String? {
    switch self {
    case .answered(let answer): answer.reason
    case .notProcessed(let why): why
    case .uncertain(let why): "Uncertain: \(why)"
    }
  }
}
