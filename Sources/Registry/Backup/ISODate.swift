#if canImport(Glibc)
  import Glibc
#endif

/// Dates of backup files: `2016-01-02T03:04:05.678Z`, unix milliseconds here.
package enum ISODate {
  /// Of the years 1970 to 9999.
  private static let range: ClosedRange<Int64> = 0...253_402_300_799_999

  /// With milliseconds, in UTC. Nil out of the years 1970 to 9999.
  package static func text(_ milliseconds: Int64) -> String? {
    guard range.contains(milliseconds) else { return nil }
    var seconds = time_t(milliseconds / 1000)
    var parts = tm()
    gmtime_r(&seconds, &parts)
    let date = "\(padded(parts.tm_year + 1900, 4))-\(padded(parts.tm_mon + 1, 2))-\(padded(parts.tm_mday, 2))"
    let time = "\(padded(parts.tm_hour, 2)):\(padded(parts.tm_min, 2)):\(padded(parts.tm_sec, 2))"
    return "\(date)T\(time).\(padded(Int32(milliseconds % 1000), 3))Z"
  }

  /// Seconds may have a fraction, of which milliseconds are taken; the zone is `Z`, `+hh:mm` or `-hh:mm`. Nil for anything
  /// else, including a 30th of February.
  package static func milliseconds(_ text: String) -> Int64? {
    let bytes = Array(text.utf8)
    guard bytes.count >= 20, let date = seconds(bytes[..<19]) else { return nil }
    var rest = bytes[19...]
    var fraction: Int64 = 0
    if rest.first == UInt8(ascii: ".") {
      let digits = rest.dropFirst().prefix { isDigit($0) }
      guard (1...9).contains(digits.count), let read = number(Array(digits) + [0x30, 0x30], 3) else { return nil }
      fraction = Int64(read)
      rest = rest.dropFirst(1 + digits.count)
    }
    guard let zone = zone(Array(rest)) else { return nil }
    let milliseconds = (date - zone) * 1000 + fraction
    return range.contains(milliseconds) ? milliseconds : nil
  }

  /// Of `YYYY-MM-DDThh:mm:ss`.
  private static func seconds(_ bytes: ArraySlice<UInt8>) -> Int64? {
    let form = Array("0000-00-00T00:00:00".utf8)
    let hasForm = zip(bytes, form).allSatisfy { $1 == 0x30 ? isDigit($0) : $0 == $1 }
    guard hasForm else { return nil }
    let fields = [(0, 4), (5, 2), (8, 2), (11, 2), (14, 2), (17, 2)].compactMap {
      number(Array(bytes.dropFirst($0)), $1)
    }
    guard fields.count == 6 else { return nil }
    var parts = tm()
    (parts.tm_year, parts.tm_mon, parts.tm_mday) = (Int32(fields[0] - 1900), Int32(fields[1] - 1), Int32(fields[2]))
    (parts.tm_hour, parts.tm_min, parts.tm_sec) = (Int32(fields[3]), Int32(fields[4]), Int32(fields[5]))
    let asked = [parts.tm_mon, parts.tm_mday, parts.tm_hour, parts.tm_min, parts.tm_sec]
    // timegm turns a 30th of February into a day of March, and writes that back.
    let seconds = timegm(&parts)
    guard asked == [parts.tm_mon, parts.tm_mday, parts.tm_hour, parts.tm_min, parts.tm_sec] else { return nil }
    return Int64(seconds)
  }

  /// Seconds east of Greenwich.
  private static func zone(_ bytes: [UInt8]) -> Int64? {
    if bytes == [UInt8(ascii: "Z")] { return 0 }
    guard bytes.count == 6, bytes[3] == UInt8(ascii: ":"),
      bytes[0] == UInt8(ascii: "+") || bytes[0] == UInt8(ascii: "-"),
      let hours = number(Array(bytes[1...]), 2), hours < 24, let minutes = number(Array(bytes[4...]), 2), minutes < 60
    else { return nil }
    return Int64(hours * 3600 + minutes * 60) * (bytes[0] == UInt8(ascii: "-") ? -1 : 1)
  }

  /// The first `count` digits.
  private static func number(_ bytes: [UInt8], _ count: Int) -> Int? {
    guard bytes.count >= count, bytes[..<count].allSatisfy(isDigit) else { return nil }
    return bytes[..<count].reduce(0) { $0 * 10 + Int($1 & 0x0F) }
  }

  private static func isDigit(_ byte: UInt8) -> Bool { (0x30...0x39).contains(byte) }

  private static func padded(_ number: Int32, _ width: Int) -> String {
    let digits = String(number)
    return String(repeating: "0", count: max(0, width - digits.count)) + digits
  }
}
