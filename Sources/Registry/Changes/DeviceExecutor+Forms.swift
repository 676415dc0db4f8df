import EventLoop
import PushModel
import Redis

// Tokens that other programs have stored in another form than their own.
extension DeviceExecutor {
  /// Makes one device of each of these entries of a set and its token: the newer registration stays, under the token. Returns the
  /// entries with their tokens in place of other forms.
  ///
  /// The token has the metadata before the other form loses it: after a crash there are both, and whoever finds them repeats it.
  func unite(_ entries: [[UInt8]]) async throws(RedisError) -> [[UInt8]] {
    let others = entries.filter { !DeviceToken.isOwnForm($0) }
    guard !others.isEmpty else { return entries }
    var stored: [StoredDevice] = []
    for batch in others.batches(of: Registry.maximumBatch) {
      stored += try await reader.devices(batch.map { String(decoding: $0, as: UTF8.self) })
    }
    let found = stored.filter(\.isOtherForm)
    _ = try await complete(found.compactMap { device in device.metadata.map { (device.ownToken, .adopt($0)) } })
    _ = try await complete(found.map { ($0.token, .discard(stored: $0.bytes)) })
    let tokens = Dictionary(found.map { (Array($0.token.utf8), Array($0.ownToken.utf8)) }) { first, _ in first }
    return entries.map { tokens[$0] ?? $0 }
  }

  /// Returns the entry under which the device is stored: another form only of an android device, which has no other. Unites what
  /// is stored under another form with the token.
  func entry(of token: DeviceToken) async throws(RedisError) -> String {
    guard let other = token.upperCased, !(try await reader.device(other).bytes.isEmpty) else { return token.text }
    let entry = try await unite([Array(other.utf8)])[0]
    return String(decoding: entry, as: UTF8.self)
  }
}

extension StoredDevice {
  /// Whether the entry is another form of a token of APNs. Nothing is known of one without metadata.
  fileprivate var isOtherForm: Bool {
    guard let metadata, metadata.platform != .android else { return false }
    return ownToken != token
  }

  fileprivate var ownToken: String { DeviceToken(token).text }
}
