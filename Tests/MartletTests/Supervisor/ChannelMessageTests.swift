import Testing

@testable import Martlet

struct ChannelMessageTests {
  private static let messages: [ChannelMessage] = [
    .stop, .hurry, .reload, .ask(number: 7, path: "/metrics"), .ask(number: .max, path: ""),
    .answer(number: 7, status: 503, body: [1, 2, 3]), .answer(number: 0, status: 200, body: []),
  ]

  @Test func `messages arrive as they were sent, however they are cut`() throws {
    let bytes = Self.messages.flatMap(\.bytes)
    for size in [1, 2, 3, 10, 11, 12, bytes.count] {
      var (buffer, found): ([UInt8], [ChannelMessage]) = ([], [])
      for start in stride(from: 0, to: bytes.count, by: size) {
        buffer += bytes[start..<min(start + size, bytes.count)]
        while let message = try ChannelMessage.take(from: &buffer) { found.append(message) }
      }
      #expect(found == Self.messages)
      #expect(buffer == [])
    }
  }

  @Test(
    arguments: [
      [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0], [6, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0], [5, 0, 0, 0, 0, 0, 0, 255, 0, 0, 0],
    ] as [[UInt8]]) func `other bytes are no message`(bytes: [UInt8])
  {
    var buffer = bytes
    #expect(throws: ChannelError.malformed) { try ChannelMessage.take(from: &buffer) }
  }
}
