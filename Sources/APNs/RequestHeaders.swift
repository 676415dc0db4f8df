import PushModel
import CNGHTTP2

/// Builds the header block of a push, in memory that is reused for the next push.
struct RequestHeaders {
  private var values: [UInt8] = []
  private var fields: [nghttp2_nv] = []
  /// The fields that are the same for every request come first.
  private let fixedBytes: Int
  private let fixedFields: Int

  init(authority: String) {
    var values: [UInt8] = []
    var fields: [nghttp2_nv] = []
    for (name, value) in [(":method" as StaticString, "POST"), (":scheme", "https"), (":authority", authority)] {
      values += value.utf8
      fields.append(RequestHeaders.field(name, count: value.utf8.count))
    }
    (fixedBytes, fixedFields) = (values.count, fields.count)
    (self.values, self.fields) = (values, fields)
  }

  /// Calls `body` with the header block of `push`, which is valid only during the call.
  mutating func with(
    _ push: Push, authorization: [UInt8], _ body: (UnsafePointer<nghttp2_nv>, Int) -> Int32
  ) -> Int32 {
    values.removeLast(values.count - fixedBytes)
    fields.removeLast(fields.count - fixedFields)
    if push.isBroadcast {
      addPath("/4/broadcasts/apps/", push.bundleID)
      add("authorization", authorization)
      add("apns-channel-id", push.token, isIndexed: false)
    } else {
      addPath("/3/device/", push.token)
      add("authorization", authorization)
      add("apns-topic", push.topic)
    }
    add("apns-push-type", push.pushType.rawValue)
    add("apns-priority", push.priority == 10 ? "10" : push.priority == 5 ? "5" : "1")
    // These differ from push to push and would only displace the others in the server's header table.
    add(push.isBroadcast ? "apns-request-id" : "apns-id", push.apnsID, isIndexed: false)
    if let expiration = push.expiration { add("apns-expiration", String(expiration), isIndexed: false) }
    if let collapseID = push.collapseID { add("apns-collapse-id", collapseID, isIndexed: false) }
    return values.withUnsafeMutableBufferPointer { values in
      var value = values.baseAddress
      for index in fields.indices {
        fields[index].value = value
        value = value.map { $0 + fields[index].valuelen }
      }
      return fields.withUnsafeBufferPointer { fields in
        guard let first = fields.baseAddress else { return NGHTTP2_ERR_INVALID_ARGUMENT.rawValue }
        return body(first, fields.count)
      }
    }
  }

  private mutating func addPath(_ prefix: StaticString, _ rest: String) {
    prefix.withUTF8Buffer { values.append(contentsOf: $0) }
    append(rest)
    fields.append(
      RequestHeaders.field(":path", count: prefix.utf8CodeUnitCount + rest.utf8.count, isIndexed: false))
  }

  private mutating func add(_ name: StaticString, _ value: [UInt8]) {
    values.append(contentsOf: value)
    fields.append(RequestHeaders.field(name, count: value.count))
  }

  private mutating func add(_ name: StaticString, _ value: String, isIndexed: Bool = true) {
    append(value)
    fields.append(RequestHeaders.field(name, count: value.utf8.count, isIndexed: isIndexed))
  }

  /// Native strings are contiguous and are copied at once.
  private mutating func append(_ text: String) {
    if text.utf8.withContiguousStorageIfAvailable({ values.append(contentsOf: $0) }) == nil {
      values.append(contentsOf: text.utf8)
    }
  }

  private static func field(_ name: StaticString, count: Int, isIndexed: Bool = true) -> nghttp2_nv {
    // The name is static, so nghttp2 need not copy it.
    var flags = UInt8(NGHTTP2_NV_FLAG_NO_COPY_NAME.rawValue)
    if !isIndexed { flags |= UInt8(NGHTTP2_NV_FLAG_NO_INDEX.rawValue) }
    return nghttp2_nv(
      name: UnsafeMutablePointer(mutating: name.utf8Start), value: nil, namelen: name.utf8CodeUnitCount,
      valuelen: count, flags: flags)
  }
}
