import Foundation
import RepriseCore

/// Answers a page's requests, as a `WKURLSchemeHandler` would: its own files, and foreign pictures.
struct PageFiles: Sendable {
    /// A request that the browser has halted.
    struct Request: Decodable {
        struct Content: Decodable {
            let url: String
            let method: String
        }
        let requestId: String
        let request: Content
        let resourceType: String
    }

    private let page: HostedWebPage
    private let origin: String

    init(_ page: HostedWebPage, origin: String) {
        self.page = page
        self.origin = origin
    }

    /// The browser's instruction for a request.
    ///
    /// - Returns: the method to call, and its parameters.
    func answer(_ request: Request) -> (method: String, parameters: DevToolsValue) {
        let id: DevToolsValue = .string(request.requestId)
        let url = request.request.url
        if url.hasPrefix(origin + "/"), request.request.method == "GET" {
            let path = url.dropFirst(origin.utf8.count).prefix { $0 != "?" && $0 != "#" }
            return ("Fetch.fulfillRequest", response(to: id, page.files[String(path)]))
        }
        switch request.resourceType {
        // The page's policy allows only foreign pictures.
        case "Image": return ("Fetch.continueRequest", ["requestId": id])
        // A page never navigates itself; this answer leaves it in place, any other would show an
        // error page.
        case "Document":
            return ("Fetch.failRequest", ["requestId": id, "errorReason": "Aborted"])
        default:
            return ("Fetch.failRequest", ["requestId": id, "errorReason": "BlockedByClient"])
        }
    }

    private func response(to id: DevToolsValue, _ file: HostedWebPage.File?) -> DevToolsValue {
        let fields = [
            ("content-type", file?.type ?? "text/plain"),
            ("content-security-policy", page.policy),
            ("x-content-type-options", "nosniff"), ("referrer-policy", "no-referrer"),
            ("cache-control", "no-store"),
        ]
        return [
            "requestId": id, "responseCode": file == nil ? 404 : 200,
            "responseHeaders": .array(
                fields.map { ["name": .string($0.0), "value": .string($0.1)] }),
            "body": .string(Data(file?.bytes ?? []).base64EncodedString()),
        ]
    }
}
