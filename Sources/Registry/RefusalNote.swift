import JSON
import EventLoop
public import PushModel
import Redis
import Telemetry

/// The last answer of APNs about a device that was not an acceptance, stored under `martlet:refusal:<token>` for 3 days.
public struct RefusalNote: Sendable, Equatable {
  /// Seconds.
  package static let lifetime = 259_200
  /// A longer reason is cut: it comes from outside.
  private static let maximumReasonBytes = 100

  /// APNs' reason; empty if it gave none.
  public var reason: String
  /// The HTTP status of the answer.
  public var status: Int
  /// Unix ms.
  public var at: Int64
  public var jobID: String
  /// Of the attempt at the job.
  public var turn: AttemptTurn
  public var topic: String
  public var environment: PushEnvironment
  /// The device, in the note of a user whose device was removed; else nil.
  public var token: DeviceToken?

  public init(
    reason: String, status: Int, at: Int64, jobID: String, turn: AttemptTurn = AttemptTurn(), topic: String,
    environment: PushEnvironment
  ) {
    self.reason = reason.prefix(bytes: RefusalNote.maximumReasonBytes)
    self.status = status
    self.at = at
    self.jobID = jobID
    self.turn = turn
    self.topic = topic
    self.environment = environment
  }

  /// Returns nil if `bytes` is not a note.
  public init?(parsing bytes: [UInt8]) {
    let value: JSONValue
    do { value = try JSONValue(parsing: bytes) } catch { return nil }
    guard let at = value["at"]?.time,
      let environment = value["environment"]?.string.flatMap(PushEnvironment.init(named:))
    else { return nil }
    self.init(
      reason: value["reason"]?.string ?? "", status: value["status"]?.count ?? 0, at: at,
      jobID: value["job"]?.string ?? "", turn: AttemptTurn(value["turn"]?.string), topic: value["topic"]?.string ?? "",
      environment: environment)
    token = value["token"]?.string.map { DeviceToken($0) }
  }

  /// `{"reason","status","at","job","turn"?,"topic","environment","token"?}`
  public func json() -> [UInt8] {
    let object: JSONObject = [
      "reason": reason, "status": status, "at": at, "job": jobID,
      "turn": turn.text, "topic": topic, "environment": environment.rawValue,
      "token": token?.text,
    ]
    return object.bytes
  }
}

extension Registry {
  /// Replaces the note of a device. It may be lost: only explanations depend on it.
  public func keep(_ note: RefusalNote, of token: DeviceToken) { write(note, RegistryKeys.refusal(token)) }

  /// Notes that a user's device is removed because of a refusal: afterwards nothing leads from the user to the device.
  public func keep(_ note: RefusalNote, of token: DeviceToken, removedFrom username: Username) {
    var note = note
    note.token = token
    write(note, RegistryKeys.removal(username))
  }

  private func write(_ note: RefusalNote, _ key: String) {
    let call = RegistryScripts.keepRefusal(note: key, json: note.json(), ttl: RefusalNote.lifetime)
    connection.send(call) { [log] result in
      if case .failure(let error) = result {
        log.debug("the refusal of a device could not be noted", ["error": .init("\(error)")])
      }
    }
  }
}
