import Foundation
import Reprise

#if canImport(UIKit)
    import RepriseApple
    import SwiftUI

    @MainActor
    func start() async throws -> SystemAppLife {
        let reprise = try await Reprise.open(
            at: .applicationSupportDirectory.appending(path: "reprise"),
            server: "https://chat.example.org", dialer: URLSessionDialer())
        let life = SystemAppLife(of: reprise)  // tells it of background and foreground
        Task { try await reprise.run() }
        return life
    }
#endif
