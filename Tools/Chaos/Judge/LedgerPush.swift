import JSON

/// A line of the simulator's journal: a push that arrived at APNs.
struct LedgerPush: Equatable, Sendable {
  enum Loss: String, Sendable {
    /// This push was not answered.
    case answer
    /// The connection ended with this push: others on it may have no answer either.
    case connection
  }

  /// Unix nanoseconds.
  let arrival: UInt64
  /// The port of the client's connection, counted as ``LedgerPush/client(_:at:)`` does.
  let client: Int
  let apnsID: String
  let token: String
  /// The collapse id; each job of a run uses its own id.
  let job: String
  /// 0 if APNs has not processed the push.
  let status: Int
  var loss: Loss?

  var isAccepted: Bool { status == 200 }

  /// A client may have one port at two gateways, which are numbered from 0.
  static func client(_ port: Int, at gateway: Int) -> Int { gateway << 16 + port }

  /// Nil if the line is not one of the journal of this gateway.
  init?(parsing line: [UInt8], at gateway: Int = 0) {
    guard let value = try? JSONValue(parsing: line), let arrival = value["arrival"]?.integer(in: 0...Int64.max),
      let client = value["client"]?.integer(in: 0...65_535)
    else { return nil }
    self.init(
      arrival: UInt64(arrival), client: LedgerPush.client(Int(client), at: gateway),
      apnsID: value["apnsId"]?.string ?? "",
      token: value["token"]?.string ?? "", job: value["collapseId"]?.string ?? "",
      status: value["status"]?.count ?? 0, loss: value["lost"]?.string.flatMap(Loss.init))
  }

  init(
    arrival: UInt64, client: Int, apnsID: String, token: String, job: String, status: Int = 200, loss: Loss? = nil
  ) {
    self.arrival = arrival
    self.client = client
    self.apnsID = apnsID
    self.token = token
    self.job = job
    self.status = status
    self.loss = loss
  }
}
