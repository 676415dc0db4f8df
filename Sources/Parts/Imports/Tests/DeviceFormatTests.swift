import BackupSupport
import JSON
import PushModel
import Registry
import Testing
@testable import Backup
@testable import Imports

/// The files of other senders.
struct DeviceFormatTests {
  private static let token = String(repeating: "0a", count: 32)
  private static let other = String(repeating: "0b", count: 32)

  private func read(_ source: some BackupSource, _ text: String) -> Reading {
    let whole = Reading(source, text)
    for size in 1...9 { #expect(Reading(source, text, size: size) == whole, "in chunks of \(size)") }
    return whole
  }

  private func device(
    _ user: String = "", at updatedAt: Int64 = 0, app: String? = "com.a", in environment: PushEnvironment? = nil,
    createdAt: Int64? = nil, kind: DeviceKind = .app
  ) -> BackupEntry {
    .device(
      token: DeviceToken(Self.token),
      DeviceMetadata(
        username: Username(user), platform: .ios, updatedAt: updatedAt, bundleID: app, environment: environment,
        createdAt: createdAt, kind: kind))
  }

  @Test(arguments: [
    "NULL", "null", "\\N", "None", "nil", "NaN", "undefined", "(null)", "<nil>", "[object Object]", "", " NULL",
    "null ",
  ])
  func `what programs write where there is no value is absent in every column`(absent: String) {
    let columns = "token,user,bundleId,environment,kind,deviceId,updatedAt"
    let row = ([Self.token] + Array(repeating: absent, count: 6)).joined(separator: ",")
    #expect(read(CSVReader(.devices(app: "com.a")), "\(columns)\n\(row)\n").entries == [device()])
    #expect(read(CSVReader(.devices(app: "com.a")), "token\n\(absent)x\n").entries.count == 1)
    let user = String(decoding: JSONValue.string(absent).bytes, as: UTF8.self)
    #expect(
      sns(#"{"Endpoints":[\#(Self.endpoint("APNS", #""CustomUserData":\#(user)"#))]}"#).entries
        == [device(in: .production)])
  }

  @Test(arguments: ["null", "None", "", " NULL "])
  func `an absent value hides no other one`(absent: String) {
    let topic = #"{"notifications":[{"tokens":["\#(Self.token)"],"platform":1,"topic":"\#(absent)"}]}"#
    #expect(gorush(topic).entries == [device()])
    let user = #"{"platform":"apns","pushChannel":"\#(Self.token)","userId":"\#(absent)","tags":["$UserId:{bob}"]}"#
    #expect(hubs(user).entries == [device("bob")])
    let tag = "<DeviceToken>\(Self.token)</DeviceToken><Tags>$UserId:{\(absent)}</Tags>"
    #expect(hubs("<AppleRegistrationDescription>\(tag)</AppleRegistrationDescription>\n").entries == [device()])
    let list = #"{"notifications":[{"tokens":["\#(absent)"],"platform":1}]}"#
    #expect(gorush(list).names == ["no_token"])
    #expect(hubs(#"{"platform":"apns","pushChannel":"\#(absent)"}"#).names == ["no_token"])
  }

  @Test(arguments: [
    ("dGhpc2lzYXRva2Vu00:APA91bHPRgkFLJu6ORcVbKPzK5UlM2u6tVYnqY2j8lH4", "token_of_firebase"),
    ("ExponentPushToken[xxxxxxxxxxxxxxxxxxxxxx]", "token_of_expo"),
    ("6d5e1a3c-0000-4000-8000-000000000001", "malformed_token"), (String(repeating: "a", count: 63), "malformed_token"),
    ("simulator-token-0123456789abcdef0123456789abcdef", "malformed_token"),
  ])
  func `a text that cannot be a token of APNs is refused by name`(token: String, reason: String) {
    let reading = read(CSVReader(.devices(app: "com.a")), "token,user\n\(token),bob\n")
    #expect(reading.entries == [.refused(BackupEntry.Refusal(rawValue: reason)!)])
  }

  @Test(arguments: [
    token, token.uppercased(), "0x" + token, "\\x" + token, "<" + token + ">",
    "CgoKCgoKCgoKCgoKCgoKCgoKCgoKCgoKCgoKCgoKCgo=", "CgoKCgoKCgoKCgoKCgoKCgoKCgoKCgoKCgoKCgoKCgo",
  ])
  func `a token of APNs is read in every form that programs write`(text: String) {
    #expect(read(CSVReader(.devices(app: "com.a")), "token\n\(text)\n").entries == [device()])
  }

  @Test(arguments: [
    "1704448800", "1704448800.123", "1704448800123", "1704448800123000", "1704448800123000000",
    "2024-01-05T10:00:00Z", "2024-01-05 10:00:00+00", "2024-01-05 10:00:00.123 UTC", "2024-01-05 10:00:00",
    "2024-01-05 12:00:00.123456+02", "2024-01-05",
  ])
  func `every reader of a table reads a date in the form and unit that it has`(date: String) {
    let day: ClosedRange<Int64> = 1_704_412_800_000...1_704_448_800_123
    let readings = [
      read(CSVReader(.devices(app: "com.a")), "token,updatedAt\n\(Self.token),\(date)\n"),
      read(CSVReader(.rpush(app: "com.a")), "device_token,updated_at\n\(Self.token),\(date)\n"),
      read(
        CSVReader(.oneSignal(app: "com.a")), "identifier,device_type,last_active\n\(Self.token),0,\(date)\n"),
    ]
    for reading in readings {
      let times = reading.entries.map { entry -> Int64 in
        guard case .device(_, let metadata) = entry else { return -1 }
        return metadata.updatedAt
      }
      #expect(times.count == 1 && times.allSatisfy(day.contains), "\(reading.names) \(times)")
    }
  }

  // MARK: - Amazon SNS

  private func sns(_ text: String) -> Reading { read(ObjectListReader(.sns(app: "com.a")), text) }

  private static func endpoint(_ platform: String = "APNS", _ attributes: String = #""Enabled":"true""#) -> String {
    #"{"EndpointArn":"arn:aws:sns:us-east-1:123456789012:endpoint/\#(platform)/app/6d5e1a3c-0000-4000-8000-000000000001","#
      + #""Attributes":{"Token":"\#(token)",\#(attributes)}}"#
  }

  @Test(arguments: [
    ("APNS", PushEnvironment.production, DeviceKind.app), ("APNS_SANDBOX", .sandbox, .app),
    ("APNS_VOIP", .production, .voip), ("APNS_VOIP_SANDBOX", .sandbox, .voip), ("MACOS", .production, .app),
  ])
  func `an endpoint of SNS has its environment and kind in its ARN`(
    platform: String, environment: PushEnvironment, kind: DeviceKind
  ) {
    let text = #"{"Endpoints":[\#(Self.endpoint(platform, #""Enabled":"true","CustomUserData":"Alice""#))]}"#
    #expect(sns(text).entries == [device("alice", in: environment, kind: kind)])
  }

  @Test func `the pages of a listing are read one after the other`() {
    let page = #"{"Endpoints":[\#(Self.endpoint())],"#
    let reading = sns(
      page + #""NextToken":"more","ResponseMetadata":{"RequestId":"x"}}"# + "\n" + page + #""NextToken":null}"#)
    #expect(reading.entries.count == 2)
    #expect(reading.fault == nil)
  }

  @Test func `a listing that goes on is not complete`() {
    let reading = sns(#"{"Endpoints":[\#(Self.endpoint())],"NextToken":"more"}"#)
    #expect(reading.entries.count == 1)
    #expect(reading.fault?.hasSuffix("expected the next page of the list, as the last one has a NextToken") == true)
  }

  @Test(arguments: [
    (endpoint("GCM"), "other_platform"), (endpoint("APNS_PASSBOOK"), "other_platform"),
    (endpoint("APNS", #""Enabled":"false""#), "disabled"),
    (endpoint("APNS", #""CustomUserData":"{\"user\":\"alice\"}""#), "malformed_username"),
    (#"{"EndpointArn":"arn:aws:sns:eu-west-1:1:endpoint/APNS/app/x","Attributes":{}}"#, "no_token"),
    (#"{"EndpointArn":"arn:aws:sns:eu-west-1:1:app/APNS/app"}"#, "malformed_record"), ("{}", "malformed_record"),
    (#"{"EndpointArn":7}"#, "malformed_record"),
    (
      #"{"EndpointArn":"arn:aws:sns:eu-west-1:1:endpoint/APNS/app/x","Attributes":{"Token":"\u0000"}}"#,
      "malformed_token"
    ),
  ])
  func `an endpoint that is left out has a reason`(endpoint: String, reason: String) {
    #expect(sns(#"{"Endpoints":[\#(endpoint),\#(Self.endpoint())]}"#).names == [reason, "com.a/\(Self.token)"])
  }

  // MARK: - OneSignal

  private func oneSignal(_ rows: String...) -> Reading {
    let columns =
      "id,identifier,session_count,language,device_type,tags,last_active,created_at,invalid_identifier,external_user_id"
    return read(CSVReader(.oneSignal(app: "com.a")), columns + "\n" + rows.joined(separator: "\n") + "\n")
  }

  @Test func `a subscription of OneSignal is a device of its user`() {
    #expect(
      oneSignal(
        "p1,\(Self.token),12,de,0,\"{\"\"vip\"\":\"\"1\"\"}\",2016-01-02 03:04:06.678 UTC,2016-01-02 03:04:05,f,Alice"
      ).entries
        == [device("alice", at: 1_451_703_846_678, createdAt: 1_451_703_845_000)])
    // A date of another form is no reason to lose the device.
    #expect(oneSignal("p1,\(Self.token),,,0,,yesterday,,,").entries == [device()])
  }

  @Test(arguments: [
    ("p1,\(token),1,de,1,,,,f,alice", "other_platform"), ("p1,https://push.example,1,de,5,,,,f,", "other_platform"),
    ("p1,a@example.com,1,de,11,,,,f,", "other_platform"), ("p1,\(token),1,de,,,,,f,", "other_platform"),
    ("p1,\(token),1,de,0,,,,t,alice", "disabled"), ("p1,,1,de,0,,,,f,alice", "no_token"),
    ("p1,\(token),1,de,0,,,,f", "malformed_record"),
  ])
  func `a subscription that is left out has a reason`(row: String, reason: String) {
    #expect(oneSignal(row, "p2,\(Self.other),1,de,0,,,,f,").names == [reason, "com.a/\(Self.other)"])
  }

  // MARK: - Azure Notification Hubs

  private func hubs(_ text: String) -> Reading { read(NotificationHubsReader(app: "com.a"), text) }

  private static func registration(_ kind: String = "Apple", tags: String = "news,$UserId:{Alice &amp; Bob}") -> String
  {
    #"<\#(kind)RegistrationDescription xmlns:i="http://www.w3.org/2001/XMLSchema-instance" "#
      + #"xmlns="http://schemas.microsoft.com/netservices/2010/10/servicebus/connect"><ETag>1</ETag>"#
      + "<ExpirationTime>9999-12-31T23:59:59.999</ExpirationTime><RegistrationId>1-2</RegistrationId><Tags>\(tags)</Tags>"
      + "<DeviceToken>\(token.uppercased())</DeviceToken></\(kind)RegistrationDescription>"
  }

  @Test(arguments: ["Apple", "AppleTemplate"]) func `an exported registration is a device of its user`(kind: String) {
    let text = "\u{FEFF}" + Self.registration(kind) + "\r\n" + Self.registration(kind, tags: "a") + "\n"
    #expect(hubs(text).entries == [device("alice & bob"), device()])
    let declared = #"<?xml version="1.0" encoding="utf-8"?>"# + Self.registration(kind, tags: "?>")
    #expect(hubs(declared + "\n" + Self.registration(kind, tags: "?>")).entries == [device(), device()])
  }

  @Test func `an installation is a device of its user`() {
    func installation(_ more: String) -> String {
      #"{"installationId":"i","platform":"apns","pushChannel":"\#(Self.token)","expirationTime":"9999-12-31T23:59:59Z"\#(more)}"#
    }
    let reading = hubs(
      installation(#","userId":"Alice","tags":["news"]"#) + "\n" + installation(#","tags":["$UserId:{bob}"]"#) + "\n"
        + installation(""))
    #expect(reading.entries == [device("alice"), device("bob"), device()])
    #expect(hubs("[\(installation(""))]").entries == [device()])
  }

  @Test(arguments: [
    (registration("FcmV1"), "other_platform"), (registration("Windows"), "other_platform"),
    ("<AppleRegistrationDescription><Tags>a</Tags></AppleRegistrationDescription>", "no_token"),
    ("<AppleRegistrationDescription><DeviceToken>\(token)", "no_token"), ("<html>", "malformed_record"),
    ("<AppleRegistrationDescription><DeviceToken>\u{0}</DeviceToken>", "malformed_token"),
  ])
  func `a registration that is left out has a reason`(row: String, reason: String) {
    #expect(hubs(Self.registration() + "\n" + row + "\n" + Self.registration()).names[1] == reason)
  }

  @Test(arguments: [
    (#"{"platform":"gcm","pushChannel":"x"}"#, "other_platform"), ("{}", "other_platform"),
    (#"{"platform":"apns","pushChannel":"\#(token)","pushChannelExpired":true}"#, "disabled"),
    (#"{"platform":"apns","pushChannel":null}"#, "no_token"),
    (#"{"platform":"apns","pushChannel":"x"}"#, "malformed_token"),
  ])
  func `an installation that is left out has a reason`(installation: String, reason: String) {
    #expect(hubs(installation).names == [reason])
  }

  // MARK: - gorush

  private func gorush(_ text: String) -> Reading { read(ObjectListReader(.gorush(app: "com.a")), text) }

  @Test func `the devices of gorush are the tokens of its requests`() {
    let body = #"{"notifications":[{"tokens":["\#(Self.token)"],"platform":1,"message":"Hi"}]}"#
    #expect(gorush(body + "\n" + body).entries == [device(), device()])
    func notification(_ more: String) -> String {
      #"{"tokens":["\#(Self.token)","\#(Self.other)"],"platform":1\#(more)}"#
    }
    #expect(
      gorush(notification(#","topic":"com.b","production":true"#)).entries.first
        == device(app: "com.b", in: .production))
    #expect(
      gorush(notification(#","topic":"com.b.voip","development":true"#)).entries.first
        == device(app: "com.b", in: .sandbox, kind: .voip))
    #expect(
      gorush(notification(#","production":true,"development":true"#)).names == [
        "com.a/\(Self.token)", "com.a/\(Self.other)",
      ])
  }

  @Test(arguments: [
    (#"{"tokens":["a","b"],"platform":2}"#, ["other_platform", "other_platform"]),
    (#"{"tokens":[7,"short"],"platform":1}"#, ["malformed_token", "malformed_token"]),
    (#"{"tokens":[],"platform":1}"#, ["no_token"]), (#"{"to":"/topics/x","platform":2}"#, ["no_token"]),
    (#"{"tokens":["\#(token)"]}"#, ["other_platform"]),
  ])
  func `a token of gorush that is left out has a reason`(notification: String, reasons: [String]) {
    #expect(gorush("{\"notifications\":[\(notification)]}").names == reasons)
  }

  // MARK: - rpush

  private func rpush(_ rows: String...) -> Reading {
    read(
      CSVReader(.rpush(app: "com.a")),
      "device_token,type,bundle_id,environment,updated_at,alert\n" + rows.joined(separator: "\n") + "\n")
  }

  @Test func `a notification of rpush names its device, its app and its environment`() {
    #expect(
      rpush(
        "\(Self.token),Rpush::Apnsp8::Notification,com.b,development,2016-01-02 03:04:06.678,\"Hi, you\"",
        "\(Self.token),Rpush::Apns::Notification,,production,,"
      ).entries == [device(at: 1_451_703_846_678, app: "com.b", in: .sandbox), device(in: .production)])
  }

  @Test func `a notification of rpush that is left out has a reason`() {
    #expect(
      rpush(
        "x,Rpush::Gcm::Notification,,,,", ",Rpush::Apns2::Notification,,,,", "\(Self.token),Rpush::Apns::App,,staging,,"
      ).names
        == ["other_platform", "no_token", "malformed_record"])
  }

  // MARK: - What a file has

  @Test func `a survey counts devices by app and environment, and each device once`() {
    var survey = DeviceSurvey(maximumDevices: 2)
    let entries = [device("alice"), device(in: .sandbox), .refused(.disabled), .refused(.disabled)]
    for (index, entry) in entries.enumerated() {
      survey.count(entry, line: index)
    }
    survey.count(
      .device(
        token: DeviceToken(Self.other),
        DeviceMetadata(username: "", platform: .ios, updatedAt: 1, environment: .production)), line: 4)
    #expect(survey.valid == 2)
    #expect(survey.anonymous == 1)
    #expect(survey.duplicates == 1)
    #expect(survey.refused == ["disabled": 2])
    #expect(survey.firstLines == ["disabled": 2])
    #expect(
      survey.groups.keys.sorted().map { "\($0.app) \($0.environment ?? "?") \($0.kind)" }
        == [" production app", "com.a ? app"])
  }

  @Test func `a survey says how many devices are more than their users may have, and where the first one is`() {
    var survey = DeviceSurvey(maximumDevices: 2)
    func count(_ number: Int, _ user: String, _ kind: DeviceKind = .app) {
      let token = DeviceToken(String(repeating: "0", count: 60) + String(1000 + number))
      let metadata = DeviceMetadata(
        username: Username(user), platform: .ios, updatedAt: 1, bundleID: "com.a", kind: kind)
      survey.count(.device(token: token, metadata), line: number)
    }
    for number in 1...5 { count(number, "alice") }
    for number in 6...7 { count(number, "alice", .voip) }
    for number in 8...20 { count(number, "") }
    count(1, "alice")
    #expect(survey.refused == ["too_many_devices": 3])
    #expect(survey.firstLines == ["too_many_devices": 3])
    #expect((survey.valid, survey.anonymous, survey.duplicates) == (17, 13, 1))
  }
}
