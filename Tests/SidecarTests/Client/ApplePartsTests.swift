import Foundation
import TestSupport
import Testing

/// The parts of clients/ios/MartletDevice.swift that are compiled on Apple's systems only, against declarations like Apple's.
struct ApplePartsTests {
  private static let file = URL(filePath: #filePath).appending(path: "../../../../clients/ios/MartletDevice.swift")
    .standardizedFileURL.path()

  private static let uiKit = """
    import Foundation
    @MainActor open class UIDevice {
      public static let current = UIDevice()
      public var identifierForVendor: UUID? { nil }
    }
    @MainActor open class UIApplication {
      public static let shared = UIApplication()
      public func registerForRemoteNotifications() {}
    }
    """
  private static let userNotifications = """
    public struct UNAuthorizationOptions: OptionSet, Sendable {
      public let rawValue: UInt
      public init(rawValue: UInt) { self.rawValue = rawValue }
      public static let badge = Self(rawValue: 1), sound = Self(rawValue: 2), alert = Self(rawValue: 4)
    }
    open class UNUserNotificationCenter {
      public static func current() -> UNUserNotificationCenter { UNUserNotificationCenter() }
      public func requestAuthorization(options: UNAuthorizationOptions = []) async throws -> Bool { true }
    }
    """
  /// The lines that docs/first-push.md has for an app.
  private static let app = """
    import Foundation
    @MainActor final class AppDelegate {
      let push = MartletDevice(server: URL(string: "https://push.example.com")!) { print("push:", $0) }
      func signedIn(bearerToken: String) async {
        await push.signIn(as: .user("alice", secret: bearerToken))
        await push.askForPermission()
      }
      func application(didRegisterForRemoteNotificationsWithDeviceToken token: Data) { push.received(token) }
      func signingOut() async { try? await push.signOut() }
    }
    """

  @Test func `it compiles where UIKit and UserNotifications exist, in the modes of Swift 5 and 6`() async throws {
    let directory = try TemporaryDirectory()
    func source(_ name: String, _ text: String) throws -> String {
      let path = "\(directory.path)/\(name).swift"
      try text.write(toFile: path, atomically: true, encoding: .utf8)
      return path
    }
    for (module, text) in [("UIKit", Self.uiKit), ("UserNotifications", Self.userNotifications)] {
      _ = try await ChildProcess.run(
        "swiftc",
        [
          "-emit-module", "-parse-as-library", "-swift-version", "5", "-module-name", module, "-o",
          "\(directory.path)/\(module).swiftmodule", try source(module, text),
        ])
    }
    let app = try source("App", Self.app)
    for mode in [["-swift-version", "5", "-strict-concurrency=complete"], ["-swift-version", "6"]] {
      _ = try await ChildProcess.run(
        "swiftc",
        ["-typecheck", "-parse-as-library", "-warnings-as-errors", "-I", directory.path] + mode + [Self.file, app])
    }
    directory.remove()
  }
}
