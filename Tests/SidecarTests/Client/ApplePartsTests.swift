import Foundation
import SidecarSupport
import Testing
import TestSupport

/// The parts of clients/ios/MartletDevice.swift that are compiled on Apple's systems only, against declarations like Apple's.
struct ApplePartsTests {
  private static let file = URL(filePath: #filePath).appending(path: "../../../../clients/ios/MartletDevice.swift")
    .standardizedFileURL.path()

  private static let uiKit = """
    import Foundation
    @MainActor open class UIDevice {
      public static let current = UIDevice()
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
  private static let security = """
    public typealias CFString = String
    public typealias CFDictionary = [String: Any]
    public typealias CFTypeRef = Any
    public let kSecClass = "", kSecClassGenericPassword = "", kSecAttrService = "", kSecAttrAccount = ""
    public let kSecValueData = "", kSecUseDataProtectionKeychain = ""
    public let kSecAttrAccessible = "", kSecAttrAccessibleAfterFirstUnlockThisDeviceOnly = "", kSecReturnData = ""
    public let errSecSuccess: Int32 = 0
    public typealias Result = UnsafeMutablePointer<CFTypeRef?>?
    public func SecItemCopyMatching(_ query: CFDictionary, _ result: Result) -> Int32 { 0 }
    @discardableResult
    public func SecItemAdd(_ query: CFDictionary, _ result: Result) -> Int32 { 0 }
    """
  /// The lines that docs/first-push.md has for an app, as the body of a function.
  private static func app() throws -> String {
    let page = URL(filePath: #filePath).appending(path: "../../../../docs/first-push.md").standardizedFileURL
    let text = try String(contentsOf: page, encoding: .utf8)
    let block = try #require(text.firstMatch(of: /(?s)```swift\n(.*?)```/)).1
    return """
      import Foundation
      import UIKit
      @MainActor func run(bearerToken: String) async throws {
      \(block)
      }
      """
  }

  @Test func `it compiles where UIKit, UserNotifications and a keychain exist, in the modes of Swift 5 and 6`()
    async throws
  {
    let directory = try TemporaryDirectory()
    func source(_ name: String, _ text: String) throws -> String {
      let path = "\(directory.path)/\(name).swift"
      try text.write(toFile: path, atomically: true, encoding: .utf8)
      return path
    }
    let modules = ["UIKit": Self.uiKit, "UserNotifications": Self.userNotifications, "Security": Self.security]
    for (module, text) in modules {
      _ = try await ChildProcess.run(
        "swiftc",
        [
          "-emit-module", "-parse-as-library", "-swift-version", "5", "-module-name", module, "-o",
          "\(directory.path)/\(module).swiftmodule", try source(module, text),
        ])
    }
    let app = try source("App", Self.app())
    for mode in [["-swift-version", "5", "-strict-concurrency=complete"], ["-swift-version", "6"]] {
      _ = try await ChildProcess.run(
        "swiftc",
        ["-typecheck", "-parse-as-library", "-warnings-as-errors", "-I", directory.path] + mode + [Self.file, app])
    }
    directory.remove()
  }
}
