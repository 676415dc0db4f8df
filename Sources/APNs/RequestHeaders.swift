import PushModel
import CNGHTTP2

/// Builds the header block of a push, in memory that is reused for the next push.
final class RequestHeaders {
  /// Room for the values of a push without its `authorization`; ``Push/localRefusal`` limits each of them.
  private static let maximumBytes = 2048
  private static let maximumFields = 12

  /// The fields that are the same for every request come first. Owns the memory of every block.
  private let fixed: HeaderBlock

  init(authority: String) {
    var block = HeaderBlock(
      values: .allocate(capacity: authority.utf8.count + RequestHeaders.maximumBytes),
      fields: .allocate(capacity: RequestHeaders.maximumFields))
    block.add(":method", "POST")
    block.add(":scheme", "https")
    block.add(":authority", authority)
    fixed = block
  }

  deinit {
    fixed.values.deallocate()
    fixed.fields.deallocate()
  }

  /// Calls `body` with the header block of `push`, which is valid only during the call.
  func with(_ push: Push, authorization: [UInt8], _ body: (UnsafePointer<nghttp2_nv>?, Int) -> Int32) -> Int32 {
    authorization.withUnsafeBufferPointer { authorization in
      var block = fixed
      let (shared, message) = (push.shared, push.shared.message)
      if shared.isBroadcast {
        block.add(":path", shared.topicBundleID, after: "/4/broadcasts/apps/", isIndexed: false)
        block.add("authorization", authorization)
        block.add("apns-channel-id", push.token, isIndexed: false)
      } else {
        block.add(":path", push.token, after: "/3/device/", isIndexed: false)
        block.add("authorization", authorization)
        block.add("apns-topic", shared.topic)
      }
      block.add("apns-push-type", message.pushType.rawValue)
      block.add("apns-priority", message.priority == 10 ? "10" : message.priority == 5 ? "5" : "1")
      // These differ from push to push and would only displace the others in the server's header table.
      block.add(shared.isBroadcast ? "apns-request-id" : "apns-id", push.apnsID, isIndexed: false)
      if let expiration = shared.expiration { block.add("apns-expiration", String(expiration), isIndexed: false) }
      if let collapseID = message.collapseID { block.add("apns-collapse-id", collapseID, isIndexed: false) }
      return body(block.fields.baseAddress, block.count)
    }
  }
}

/// Fields in memory that is not its own.
private struct HeaderBlock {
  let values: UnsafeMutableBufferPointer<UInt8>
  let fields: UnsafeMutableBufferPointer<nghttp2_nv>
  private var bytes = 0
  private(set) var count = 0

  init(values: UnsafeMutableBufferPointer<UInt8>, fields: UnsafeMutableBufferPointer<nghttp2_nv>) {
    self.values = values
    self.fields = fields
  }

  /// Adds a field whose value is `prefix` and `value`, which it copies.
  mutating func add(_ name: StaticString, _ value: String, after prefix: StaticString = "", isIndexed: Bool = true) {
    let start = bytes
    append(UnsafeBufferPointer(start: prefix.utf8Start, count: prefix.utf8CodeUnitCount))
    value.utf8.span.withUnsafeBufferPointer { append($0) }
    add(name, UnsafeBufferPointer(rebasing: values[start..<bytes]), isIndexed: isIndexed)
  }

  /// Adds a field whose value must stay where it is.
  mutating func add(_ name: StaticString, _ value: UnsafeBufferPointer<UInt8>, isIndexed: Bool = true) {
    precondition(count < fields.count, "too many header fields")
    // The name is static, so nghttp2 need not copy it.
    var flags = UInt8(NGHTTP2_NV_FLAG_NO_COPY_NAME.rawValue)
    if !isIndexed { flags |= UInt8(NGHTTP2_NV_FLAG_NO_INDEX.rawValue) }
    fields[count] = nghttp2_nv(
      name: UnsafeMutablePointer(mutating: name.utf8Start), value: UnsafeMutablePointer(mutating: value.baseAddress),
      namelen: name.utf8CodeUnitCount, valuelen: value.count, flags: flags)
    count += 1
  }

  private mutating func append(_ text: UnsafeBufferPointer<UInt8>) {
    precondition(text.count <= values.count - bytes, "a header field is longer than Push.localRefusal allows")
    if let source = text.baseAddress, let target = values.baseAddress {
      (target + bytes).update(from: source, count: text.count)
    }
    bytes += text.count
  }
}
