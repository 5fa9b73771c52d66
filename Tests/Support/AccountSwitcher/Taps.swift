import Foundation
import Reprise
import RepriseTesting

extension RepriseConfiguration {
    /// A client that takes taps, and dials nobody.
    static func ofTaps(in folder: URL) -> RepriseConfiguration {
        var configuration = RepriseConfiguration(server: "http://127.0.0.1:1")
        configuration.folder = folder
        configuration.dialer = MemoryDialer()
        configuration.forms = Forms.Configuration()
        configuration.webViews = AbsentWebViews()
        configuration.catalogue = CatalogueSource(catalogue: "{}")
        return configuration
    }
}

extension NotificationResponse {
    static func tap(_ number: Int) -> NotificationResponse {
        NotificationResponse(
            notification: DeliveredNotification(
                request: NotificationRequest(
                    id: "push-\(number)", content: NotificationContent(title: "t")),
                date: WallTime(milliseconds: 1_000), isRemote: true))
    }
}

private struct AbsentWebViews: WebViewHost {
    func open(_ page: HostedWebPage) async throws -> any HostedWebView {
        throw RepriseError(.unavailable, "There are no web views here.")
    }
}
