import FoundationEssentials

/// `POST /faults`: `{"kind":"goaway","every":100}`. Adds to the faults in force.
///
/// `every`, `count` and `after` say when: each N-th push, at most so many times, not among the first ones.
struct FaultCommand: Codable {
  /// `goaway`, `reset`, `stall`, `drop`, `status`, `acceptStall`, `early` or `noPings`.
  let kind: String
  var every: Int?
  var count: Int?
  var after: Int?
  /// Of `goaway`: closes the connection at once.
  var abrupt: Bool?
  /// Of an abrupt `goaway`: the last pushes are processed and not answered; 1 when absent.
  var unanswered: Int?
  /// Of `reset`, `stall` and `drop`: the push is processed (and in the ledger) before; false when absent.
  var processed: Bool?
  /// Of `reset`: an HTTP/2 error code; 7 (REFUSED_STREAM) when absent.
  var code: UInt32?
  /// Of `stall`: PING is answered; true when absent.
  var answerPings: Bool?
  /// Of `status`.
  var status: Int?
  var reason: String?
  var retryAfter: Int?

  private static let refusedStream: UInt32 = 7

  init(parsing body: [UInt8]) throws {
    self = try JSONDecoder().decode(FaultCommand.self, from: Data(body))
  }

  func apply(to plan: inout FaultPlan) throws(ControlError) {
    for (name, value) in [("every", every), ("count", count), ("after", after), ("unanswered", unanswered)] {
      guard (0...1_000_000_000).contains(value ?? 1) else { throw ControlError("\"\(name)\" is out of range") }
    }
    switch kind {
    case "acceptStall": plan.stallsAccept = true
    case "early": plan.answersEarly = true
    case "noPings": plan.answersPings = false
    default:
      if answerPings == false { plan.answersPings = false }
      plan.add(Fault(try faultKind, every: every ?? 1, count: count, after: after ?? 0))
    }
  }

  private var faultKind: Fault.Kind {
    get throws(ControlError) {
      switch kind {
      case "goaway": return .goaway(abrupt: abrupt ?? false, unanswered: unanswered ?? 1)
      case "reset": return .reset(code: code ?? FaultCommand.refusedStream, processed: processed ?? false)
      case "stall": return .stall(processed: processed ?? false)
      case "drop": return .drop(processed: processed ?? false)
      case "status": return .answer(try Answer(checkedStatus: status, reason, retryAfter: retryAfter))
      default:
        throw ControlError(
          "unknown kind \"\(kind)\": goaway, reset, stall, drop, status, acceptStall, early or noPings")
      }
    }
  }
}
