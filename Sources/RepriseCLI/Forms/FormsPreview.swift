import Foundation
import HTTPTypes
import Hummingbird
import HummingbirdCore
import Logging
import NIOCore
import RepriseCommandLine
import RepriseCore
import RepriseForms
import RepriseWire

/// The page on which forms are tried, and the web view's host that answers them there.
struct FormsPreview: Sendable {
    let file: CatalogueFile
    /// A file with a theme; nil: the standard one.
    let theme: String?
    let isDark: Bool

    /// The theme as the file has it now.
    ///
    /// - Throws: ``CommandFailure`` if it cannot be read, or is none.
    func readTheme() throws -> FormsTheme {
        var found = FormsTheme()
        if let theme {
            guard let data = FileManager.default.contents(atPath: theme) else {
                throw CommandFailure(
                    .noInput,
                    "The file \(theme) cannot be read. Check its name, and that it may be read.")
            }
            do {
                found = try FormsTheme(json: String(decoding: data, as: UTF8.self))
            } catch let error as RepriseError {
                throw CommandFailure(.badInput, "\(theme) is no theme: \(error)")
            }
        }
        if isDark { found.appearance = .dark }
        return found
    }

    /// Serves on 127.0.0.1 until a signal ends it.
    ///
    /// - Parameters:
    ///   - port: 0 for a free one.
    ///   - isReady: called with the port once it can be opened.
    /// - Throws: ``RepriseError`` `.portInUse`, `.badConfiguration`.
    func serve(port: Int, isReady: @escaping @Sendable (Int) -> Void) async throws {
        let router = Router()
        for path in ["/", "**"] { router.get(RouterPath(path)) { request, _ in answer(request) } }
        let application = Application(
            router: router,
            configuration: ApplicationConfiguration(address: .hostname("127.0.0.1", port: port)),
            onServerRunning: { channel in isReady(channel.localAddress?.port ?? port) },
            logger: Logger(label: "preview") { _ in SwiftLogNoOpLogHandler() })
        do {
            try await application.runService()
        } catch let error as IOError where error.errnoCode == EADDRINUSE {
            throw RepriseError(
                .portInUse, "Port \(port) is in use by another process.",
                remedy: "Give another with --port, or none for a free one.", cause: error)
        } catch let error as IOError {
            throw RepriseError(
                .badConfiguration, "This machine cannot listen on port \(port).",
                remedy: "Give a port above 1023, or none for a free one.", cause: error)
        }
    }

    /// A page elsewhere that names this machine as its own does not read the catalogue.
    private static let hosts = ["127.0.0.1", "localhost"]

    private func answer(_ request: Request) -> Response {
        let host = request.head.authority?.split(separator: ":").first.map(String.init)
        guard let host, Self.hosts.contains(host) else {
            return Self.response("text/plain", "Open http://127.0.0.1.", status: .forbidden)
        }
        switch request.uri.path {
        case "/": return Self.response("text/html", FormsPreviewPage.html)
        case "/preview.css": return Self.response("text/css", FormsPreviewPage.css)
        case "/preview.js": return Self.response("text/javascript", FormsPreviewPage.script)
        case "/host.js": return Self.response("text/javascript", FormsPreviewPage.host)
        case "/page": return page("/")
        case "/forms.js": return page("/forms.js")
        case "/catalogue.json": return catalogue()
        case "/theme.json": return themeFile()
        default: return Self.response("text/plain", "There is no such page.", status: .notFound)
        }
    }

    /// As the app serves it, with a host of the preview's own before the form runtime.
    private func page(_ path: String) -> Response {
        guard let page = FormsPage.page(session: EntryID.random().text).files[path] else {
            return Self.response("text/plain", "There is no such page.", status: .notFound)
        }
        let runtime = #"<script src="/forms.js" defer></script>"#
        let text = String(decoding: page.bytes, as: UTF8.self)
            .replacing(runtime, with: #"<script src="/host.js" defer></script>"# + runtime)
        return Self.response(
            path == "/" ? "text/html" : "text/javascript", text,
            policy: "require-trusted-types-for 'script'; trusted-types 'none'")
    }

    private func catalogue() -> Response {
        do {
            let text = String(decoding: try file.read().bytes, as: UTF8.self)
            return Self.response("application/json", text)
        } catch let failure as FormsCatalogueFailure {
            let lines = failure.problems.map(file.line).joined(separator: "\n")
            return Self.response("text/plain", lines, status: .unprocessableContent)
        } catch {
            return Self.response("text/plain", "\(error)", status: .unprocessableContent)
        }
    }

    private func themeFile() -> Response {
        do {
            let text = String(decoding: try readTheme().json, as: UTF8.self)
            return Self.response("application/json", text)
        } catch {
            return Self.response("text/plain", "\(error)", status: .unprocessableContent)
        }
    }

    private static func response(
        _ type: String, _ text: String, status: HTTPResponse.Status = .ok, policy: String = ""
    ) -> Response {
        Response(
            status: status,
            headers: [
                .contentType: "\(type); charset=utf-8", .cacheControl: "no-store",
                .contentSecurityPolicy: "default-src 'none'; script-src 'self'; "
                    + "style-src 'self'; connect-src 'self'; frame-src 'self'; "
                    + "img-src https: data:; form-action 'none'; base-uri 'none'; "
                    + "frame-ancestors 'self'; " + policy,
            ],
            body: ResponseBody(byteBuffer: ByteBuffer(string: text)))
    }
}
