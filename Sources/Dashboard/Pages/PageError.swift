package import Credentials
package import HTTPServer
package import Redis

/// Why a page is not shown, or an action was not carried out. The answer is a page that says so.
package struct PageError: HTTPRefusal {
  package let status: Int
  package let title: String
  /// What happened, in plain sentences.
  package let message: String
  /// Further header fields of the answer.
  package var headers: [(name: String, value: String)] = []
  /// The fault of Redis that caused it. For the log only.
  package var cause: RedisError?
  /// Who sees the page, and in which section; nil if the sender is not known.
  private(set) var viewer: (operator: Operator, section: Section?)?

  package init(_ status: Int, _ title: String, _ message: String) {
    self.status = status
    self.title = title
    self.message = message
  }

  package var fault: HTTPFault? { cause.map { HTTPFault("\($0)", isKnown: $0.isNotSent) } }

  /// Returns the error as an operator sees it, with further header fields.
  func shown(
    to operator: Operator, _ section: Section?, _ fields: [(name: String, value: String)]
  ) -> PageError {
    var error = self
    error.viewer = (`operator`, section)
    error.headers += fields
    return error
  }

  /// Whether the step that failed may have been carried out nevertheless.
  package var mayBeDone: Bool {
    switch cause {
    case .outcomeUnknown, .replyTooLarge: true
    case .notSent, .reply, .configuration, nil: false
    }
  }

  package static func badRequest(_ message: String) -> PageError { PageError(400, "Bad request", message) }

  /// The cursor of a page of a list is not one that this dashboard made, or what it points to is gone.
  package static let badCursor = PageError(
    400, "Bad request", "The link to this part of the list is not valid, or no longer valid. Start at the first part.")

  package static func forbidden(_ role: OperatorRole) -> PageError {
    PageError(403, "Not allowed", "This needs the role \(role.rawValue). Nothing was changed.")
  }

  package static func notFound(_ message: String) -> PageError { PageError(404, "Not found", message) }

  /// - Parameter allowed: the value of the header field `Allow`.
  package static func methodNotAllowed(_ allowed: String) -> PageError {
    var error = PageError(405, "Method not allowed", "Pages are read with GET; actions are sent with POST.")
    error.headers = [("Allow", allowed)]
    return error
  }

  /// What an action is about has changed meanwhile.
  package static func movedOn(_ message: String) -> PageError { PageError(409, "Has moved on", message) }

  /// A key that the page reads, or that the action changes, holds what another program wrote. `keys`: one of these.
  private static func otherType(_ keys: [String]) -> PageError {
    let names = keys.prefix(maximumKeys).joined(separator: ", ") + (keys.count > maximumKeys ? ", …" : "")
    let what = keys.count == 1 ? "The key \(names)" : keys.isEmpty ? "A key" : "One of the keys \(names)"
    return PageError(
      409, "Another type",
      "\(what) has another type than this page expects: another program wrote it. Delete it, or rename it."
    )
  }

  private static let maximumKeys = 5

  package init(_ fault: RedisError) {
    switch fault {
    case .outcomeUnknown:
      self.init(
        503, "Redis does not answer",
        "Redis did not answer in time. Whether the last step was carried out is not known: look again when it answers.")
    case .replyTooLarge: self.init(500, "Too large", "What Redis holds for this page is too large to be read.")
    case .reply(let error) where error.code == "NOPERM":
      self.init(
        500, "Redis refuses a command",
        "The user of REDIS_URL lacks a right that this page needs: use the user martlet-dashboard of deploy/redis/users.acl."
      )
    case .reply(let error) where fault.isWrongType: self = .otherType(error.keys)
    case .notSent, .reply, .configuration:
      self.init(
        503, "Redis does not answer",
        "Redis does not answer, or refuses to write. Nothing was done. Try again when Redis works.")
    }
    cause = fault
  }
}

/// Returns the value of a call to Redis. Throws a ``PageError`` if the call fails.
nonisolated(nonsending) package func refusingFaults<Value>(
  _ call: @autoclosure () async throws(RedisError) -> Value
) async throws(PageError) -> Value {
  do { return try await call() } catch { throw PageError(error) }
}
