import JSON
public import PushModel

/// What a push gateway that asks for no credential knows of a device, which it therefore does not register: the field `pusher` of
/// a job. It counts if the device is not registered. A class, because a job is copied often.
public final class Pusher: Sendable, Equatable {
  static let addressLength = 1...64

  /// Nil if it is unknown.
  public let environment: PushEnvironment?
  /// Unix milliseconds. An answer of APNs that the device was gone before says nothing.
  public let setAt: Int64
  /// The client that named the device. What is remembered of the device counts for this client only.
  public let address: String

  public init(environment: PushEnvironment?, setAt: Int64, address: String) {
    self.environment = environment
    self.setAt = setAt
    self.address = address
  }

  public static func == (left: Pusher, right: Pusher) -> Bool {
    (left.environment, left.setAt, left.address) == (right.environment, right.setAt, right.address)
  }

  convenience init(from reader: inout JobReader) throws(JobError) {
    var seen: UInt64 = 0
    var (environment, setAt, address): (PushEnvironment?, Int64?, String?)
    try reader.beginObject()
    while let number = try reader.nextKey(among: PusherKey.names, seen: &seen) {
      // The numbers are the raw values of the cases.
      switch PusherKey(rawValue: number)! {
      case .environment: environment = try reader.choice(of: PushEnvironment.self)
      case .setAt: setAt = try reader.integer(in: 0...Timestamp.maximum)
      case .address: address = try reader.string(of: Pusher.addressLength)
      }
    }
    reader.field = "pusher"
    guard let setAt, let address else { throw reader.error("setAt and address are needed") }
    self.init(environment: environment, setAt: setAt, address: address)
  }
}

/// The keys of `pusher`.
private enum PusherKey: Int, CaseIterable {
  case environment, setAt, address

  static let names = FieldNames(allCases.map { "\($0)" }, in: "pusher.")
}
