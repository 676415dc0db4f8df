/// What happens to one push.
enum FaultEffect: Equatable {
  case none
  case answer(Answer)
  case reset(code: UInt32, processed: Bool)
  case stall(processed: Bool)
  case drop(processed: Bool)
  case goaway(abrupt: Bool)

  /// Whether the push is judged and comes into the ledger.
  var isProcessed: Bool {
    switch self {
    case .none, .answer, .goaway: true
    case .reset(_, let processed), .stall(let processed), .drop(let processed): processed
    }
  }

  /// As it is counted; nil when nothing went wrong.
  var name: String? {
    switch self {
    case .none: nil
    case .answer: "answers"
    case .reset: "resets"
    case .stall: "stalls"
    case .drop: "drops"
    case .goaway: "goaways"
    }
  }
}
