import Foundation
import Operations
import Testing

@testable import Jobs
@testable import Policies

struct QuietHoursTests {
  /// A zone whose clock goes forward at 2:00 on 29 March 2026 and back at 3:00 on 25 October.
  private static let berlin = TimeZone(identifier: "Europe/Berlin")!
  private let localTime = LocalTime(berlin)

  /// Unix ms of an ISO date with a zone.
  private func time(_ iso: String) throws -> Int64 {
    Int64(try Date(iso, strategy: .iso8601).timeIntervalSince1970 * 1000)
  }

  private func end(_ hours: String, at iso: String, in zone: TimeZone = berlin) throws -> Date? {
    let end = try #require(QuietHours(hours)).end(at: try time(iso), LocalTime(zone))
    return end.map { Date(timeIntervalSince1970: Double($0) / 1000) }
  }

  @Test(
    arguments: [
      ("23:00-08:00", "2026-06-10T22:59:59+02:00", nil),
      ("23:00-08:00", "2026-06-10T23:00:00+02:00", "2026-06-11T08:00:00+02:00"),
      ("23:00-08:00", "2026-06-11T00:00:00+02:00", "2026-06-11T08:00:00+02:00"),
      ("23:00-08:00", "2026-06-11T07:59:59+02:00", "2026-06-11T08:00:00+02:00"),
      ("23:00-08:00", "2026-06-11T08:00:00+02:00", nil),
      ("12:30-13:15", "2026-06-10T12:29:59+02:00", nil),
      ("12:30-13:15", "2026-06-10T13:14:59+02:00", "2026-06-10T13:15:00+02:00"),
      ("12:30-13:15", "2026-06-10T13:15:00+02:00", nil),
      ("00:00-23:59", "2026-06-10T00:00:00+02:00", "2026-06-10T23:59:00+02:00"),
      ("00:00-23:59", "2026-06-10T23:59:30+02:00", nil),
      ("23:59-00:00", "2026-06-10T23:59:30+02:00", "2026-06-11T00:00:00+02:00"),
      ("23:00-08:00", "2026-12-31T23:30:00+01:00", "2027-01-01T08:00:00+01:00"),
    ] as [(String, String, String?)])
  func `the begin is quiet and the end is not, also across midnight`(
    hours: String, now: String, expected: String?
  ) throws {
    #expect(try end(hours, at: now) == expected.map { try Date($0, strategy: .iso8601) })
  }

  @Test(
    arguments: [
      // A night that is an hour shorter.
      ("23:00-08:00", "2026-03-28T23:30:00+01:00", "2026-03-29T08:00:00+02:00"),
      // 2:30 does not exist: the leap from 2:00 to 3:00 ends them, and begins them.
      ("23:00-02:30", "2026-03-29T01:59:59+01:00", "2026-03-29T03:00:00+02:00"),
      ("23:00-02:30", "2026-03-29T03:00:00+02:00", nil),
      ("02:30-08:00", "2026-03-29T01:59:59+01:00", nil),
      ("02:30-08:00", "2026-03-29T03:00:00+02:00", "2026-03-29T08:00:00+02:00"),
      // Skipped completely.
      ("02:10-02:50", "2026-03-29T01:59:59+01:00", nil), ("02:10-02:50", "2026-03-29T03:00:00+02:00", nil),
    ] as [(String, String, String?)])
  func `a time that a clock change skips is the time of the change`(
    hours: String, now: String, expected: String?
  ) throws {
    #expect(try end(hours, at: now) == expected.map { try Date($0, strategy: .iso8601) })
  }

  @Test(
    arguments: [
      // A night that is an hour longer.
      ("23:00-08:00", "2026-10-24T23:30:00+02:00", "2026-10-25T08:00:00+01:00"),
      // 2:30 comes twice: they end with the second, and begin with the first.
      ("23:00-02:30", "2026-10-25T02:29:59+02:00", "2026-10-25T02:30:00+01:00"),
      ("23:00-02:30", "2026-10-25T02:45:00+02:00", "2026-10-25T02:30:00+01:00"),
      ("23:00-02:30", "2026-10-25T02:29:59+01:00", "2026-10-25T02:30:00+01:00"),
      ("23:00-02:30", "2026-10-25T02:30:00+01:00", nil),
      ("02:30-08:00", "2026-10-25T02:29:59+02:00", nil),
      ("02:30-08:00", "2026-10-25T02:30:00+02:00", "2026-10-25T08:00:00+01:00"),
      ("02:30-08:00", "2026-10-25T02:10:00+01:00", "2026-10-25T08:00:00+01:00"),
      ("02:10-02:50", "2026-10-25T02:55:00+02:00", "2026-10-25T02:50:00+01:00"),
    ] as [(String, String, String?)])
  func `an hour that occurs twice is quiet both times`(
    hours: String, now: String, expected: String?
  ) throws {
    #expect(try end(hours, at: now) == expected.map { try Date($0, strategy: .iso8601) })
  }

  @Test(
    arguments: [
      "Europe/Berlin", "America/New_York", "Asia/Kolkata", "Australia/Lord_Howe", "Pacific/Apia", "America/St_Johns",
      "UTC",
    ], ["23:00-08:00", "02:30-02:00", "00:15-05:45", "09:00-17:00"])
  func `every local time between the hours is quiet, in every zone, all through a year`(
    zone: String, text: String
  ) throws {
    let zone = try #require(TimeZone(identifier: zone))
    let localTime = LocalTime(zone)
    let hours = try #require(QuietHours(text))
    var loud = 0
    for instant in stride(from: Int64(1_767_225_600), to: 1_798_761_600, by: 3511) {
      let date = Date(timeIntervalSince1970: Double(instant))
      let minute = (instant + Int64(zone.secondsFromGMT(for: date))) % 86_400 / 60
      let isQuietByWall =
        hours.beginMinute < hours.endMinute
        ? minute >= hours.beginMinute && minute < hours.endMinute
        : minute >= hours.beginMinute || minute < hours.endMinute
      let end = hours.end(at: instant * 1000, localTime)
      if isQuietByWall { #expect(end != nil, "\(date)") }
      guard let end else {
        loud += 1
        continue
      }
      #expect(end > instant * 1000 && end - instant * 1000 <= 26 * 3_600_000)
    }
    #expect(loud > 0)
  }

  @Test func `the next begin is found today or tomorrow`() throws {
    let hours = QuietHours.standard
    #expect(
      try hours.nextBegin(after: time("2026-06-10T12:00:00+02:00"), localTime) == time("2026-06-10T23:00:00+02:00"))
    #expect(
      try hours.nextBegin(after: time("2026-06-10T23:00:00+02:00"), localTime) == time("2026-06-11T23:00:00+02:00"))
  }

  @Test(arguments: ["", "23:00", "23:00-23:00", "24:00-08:00", "7:00-08:00", "23:60-08:00", "23:00-08:00-09:00", "a-b"])
  func `invalid quiet hours are refused`(text: String) {
    #expect(QuietHours(text) == nil)
  }

  @Test(arguments: ["UTC", "Europe/Berlin", "America/Argentina/Buenos_Aires", "Etc/GMT+5"])
  func `zones of this machine are known`(name: String) {
    #expect(SystemZone.fault(of: name) == nil)
  }

  @Test(
    arguments: [
      ("Europe/Atlantis", "not installed on this machine"), ("../../etc/passwd", "not the name of a zone"),
      ("/etc/localtime", "not the name of a zone"), ("Europe/Ber lin", "not the name of a zone"),
      ("", "not the name of a zone"),
      ("Europe", "not installed on this machine"), ("zone.tab", "not the name of a zone"),
    ])
  func `a zone that this machine does not have is a fault`(name: String, fault: String) {
    #expect(SystemZone.fault(of: name) == fault)
  }

  @Test(arguments: [":Europe/Berlin", "Europe/Berlin", "CET-1CEST,M3.5.0,M10.5.0/3", "<+03>-3", "UTC0", "UTC"])
  func `TZ may also be a rule`(value: String) {
    #expect(SystemZone.fault(ofVariable: value) == nil)
  }

  @Test func `a zone in TZ that is not installed is a fault`() {
    #expect(SystemZone.fault(ofVariable: ":Europe/Atlantis") == "not installed on this machine")
    #expect(SystemZone.fault(ofVariable: "/etc/passwd") == "not a time zone file")
  }
}
