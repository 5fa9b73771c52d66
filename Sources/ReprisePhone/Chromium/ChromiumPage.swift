package import Foundation
import RepriseCore
import Synchronization

/// One page of a browser, observed and operated from outside: what a person would see, press and
/// type.
///
/// It does not rely on the page's own script, and so can check it.
package final class ChromiumPage: Sendable {
    struct State {
        var context: Int?
        var uniqueContext: String?
        var isGone = false
    }

    let devTools: DevTools
    private let session: String
    let target: String
    let state = Mutex(State())

    private init(devTools: DevTools, session: String, target: String) {
        self.devTools = devTools
        self.session = session
        self.target = target
    }

    /// Attaches to a page.
    ///
    /// - Parameters:
    ///   - target: its DevTools id.
    ///   - devTools: the connection to the browser.
    ///   - handler: gets its events; must not wait.
    /// - Returns: the page, its events on.
    /// - Throws: ``RepriseCore/RepriseError`` as of ``DevTools/call(_:_:session:within:)``.
    static func attach(
        to target: String, of devTools: DevTools,
        _ handler: @escaping @Sendable (ChromiumPage, DevTools.Event) -> Void = { _, _ in }
    ) async throws -> ChromiumPage {
        struct Attached: Decodable { let sessionId: String }
        let session = try await devTools.call(
            "Target.attachToTarget", ["targetId": .string(target), "flatten": true],
            as: Attached.self
        ).sessionId
        let page = ChromiumPage(devTools: devTools, session: session, target: target)
        devTools.listen(to: session) { [weak page] event in
            guard let page else { return }
            page.noted(event)
            handler(page, event)
        }
        for domain in ["Page", "Runtime", "Inspector"] { try await page.call("\(domain).enable") }
        return page
    }

    /// The page of an app's web view, for an observer that did not open it.
    ///
    /// - Parameters:
    ///   - app: as given to ``ChromiumWebViews``.
    ///   - address: of the browser.
    /// - Returns: the page that was opened last; nil if the app has none.
    /// - Throws: ``RepriseCore/RepriseError`` as of ``DevTools/connect(to:)``.
    package static func find(app: String, at address: String) async throws -> ChromiumPage? {
        struct Targets: Decodable {
            struct Info: Decodable {
                let targetId: String
                let url: String
            }
            let targetInfos: [Info]
        }
        let devTools = try await DevTools.connect(to: address)
        let origin = ChromiumWebViews.origin(app)
        let targets = try await devTools.call("Target.getTargets", as: Targets.self).targetInfos
        guard let target = targets.first(where: { $0.url.hasPrefix(origin + "/") }) else {
            await devTools.close()
            return nil
        }
        return try await attach(to: target.targetId, of: devTools)
    }

    /// Ends the connection of a page that ``find(app:at:)`` has found; the page itself stays.
    package func letGo() async { await devTools.close() }

    @discardableResult
    package func call(
        _ method: String, _ parameters: DevToolsValue = [:], within limit: Duration = .seconds(10)
    ) async throws -> DevToolsValue {
        try await devTools.call(method, parameters, session: session, within: limit)
    }

    /// Keeps the context of the main frame's main world.
    private func noted(_ event: DevTools.Event) {
        struct Created: Decodable {
            struct Context: Decodable {
                struct Auxiliary: Decodable {
                    let isDefault: Bool
                    let frameId: String
                }
                let id: Int
                let uniqueId: String
                let auxData: Auxiliary
            }
            let context: Context
        }
        switch event.method {
        case "Runtime.executionContextCreated":
            guard let context = event.parameters(as: Created.self)?.context,
                // A page's main frame has the id of its target.
                context.auxData.isDefault, context.auxData.frameId == target
            else { return }
            state.withLock { ($0.context, $0.uniqueContext) = (context.id, context.uniqueId) }
        case "Runtime.executionContextsCleared":
            state.withLock { ($0.context, $0.uniqueContext) = (nil, nil) }
        case "Inspector.targetCrashed", "Inspector.detached", "closed":
            state.withLock { $0 = State(isGone: true) }
            // This page answers no more; waiting calls must fail now.
            devTools.forget(session)
        default: break
        }
    }

    // MARK: Input

    /// Evaluates an expression in the page, and awaits a promise.
    ///
    /// - Throws: ``RepriseCore/RepriseError`` `.malformed` with the page's exception.
    @discardableResult
    package func evaluate(_ expression: String) async throws -> DevToolsValue {
        let answer = try await call(
            "Runtime.evaluate",
            [
                "expression": .string(expression), "awaitPromise": true, "returnByValue": true,
                "userGesture": true, "allowUnsafeEvalBlockedByCSP": false,
            ])
        if let thrown = answer["exceptionDetails"] { throw Self.thrown(thrown) }
        return answer["result"]?["value"] ?? .null
    }

    static func thrown(_ details: DevToolsValue) -> RepriseError {
        let text = details["exception"]?["description"]?.text ?? details["text"]?.text
        return RepriseError(.malformed, "The page has thrown: \(text ?? "something").")
    }

    /// A screenshot of the page.
    ///
    /// - Returns: a PNG.
    package func screenshot() async throws -> Data {
        let answer = try await call(
            "Page.captureScreenshot", ["format": "png"], within: .seconds(30))
        guard case .string(let text)? = answer["data"], let data = Data(base64Encoded: text) else {
            throw RepriseError(.internal, "Chromium's screenshot is not one.")
        }
        return data
    }

    /// Kills the process that draws the page, as a system does that is out of memory.
    package func crash() async {
        // Never answers: its process dies.
        _ = try? await call("Page.crash", within: .seconds(5))
    }

    /// Presses and releases a key.
    ///
    /// - Parameters:
    ///   - key: as JavaScript names it: `Tab`, `Escape`, `Enter`, `ArrowDown`, or one letter.
    ///   - isShifted: with the shift key held.
    /// - Throws: ``RepriseCore/RepriseError`` `.closed`, `.timedOut`.
    package func press(_ key: String, isShifted: Bool = false) async throws {
        let code =
            ["Tab": 9, "Enter": 13, "Escape": 27, " ": 32, "ArrowUp": 38, "ArrowDown": 40][key] ?? 0
        let text = ["Enter": "\r"][key] ?? (key.count == 1 ? key : nil)
        var event: [String: DevToolsValue] = [
            "key": .string(key), "code": .string(key == " " ? "Space" : key),
            "windowsVirtualKeyCode": .number(Double(code)), "modifiers": isShifted ? 8 : 0,
            "type": text == nil ? "rawKeyDown" : "keyDown",
        ]
        if let text { event["text"] = .string(text) }
        try await call("Input.dispatchKeyEvent", .object(event))
        event["text"] = nil
        event["type"] = "keyUp"
        try await call("Input.dispatchKeyEvent", .object(event))
    }

    /// Types into the focused element.
    package func type(_ text: String) async throws {
        try await call("Input.insertText", ["text": .string(text)])
    }

    /// Clicks on an element.
    ///
    /// - Parameters:
    ///   - name: its accessible name.
    ///   - role: as in `button`, `textbox`, `checkbox`.
    /// - Throws: ``RepriseCore/RepriseError`` `.noSuchEntry` if it is not on the screen.
    package func click(_ name: String, role: String = "button") async throws {
        let elements = try await elements()
        guard let element = elements.first(where: { $0.role == role && $0.name == name }),
            let node = element.node
        else {
            throw RepriseError(
                .noSuchEntry, "No \(role) “\(name)” is on the screen.",
                remedy: "There: \(elements.map(\.description).joined(separator: ", ")).")
        }
        let place: DevToolsValue = ["backendNodeId": .number(Double(node))]
        try await call("DOM.scrollIntoViewIfNeeded", place)
        struct Quads: Decodable { let quads: [[Double]] }
        let quads = try await devTools.call(
            "DOM.getContentQuads", place, session: session, as: Quads.self
        ).quads
        guard let quad = quads.first, quad.count == 8 else {
            throw RepriseError(.noSuchEntry, "“\(name)” has no place on the screen.")
        }
        let x = (quad[0] + quad[2] + quad[4] + quad[6]) / 4
        let y = (quad[1] + quad[3] + quad[5] + quad[7]) / 4
        for kind in ["mousePressed", "mouseReleased"] {
            try await call(
                "Input.dispatchMouseEvent",
                [
                    "type": .string(kind), "x": .number(x), "y": .number(y), "button": "left",
                    "clickCount": 1,
                ])
        }
    }
}

extension ChromiumPage {
    /// All that is on the page, closed shadow roots included, from top to bottom.
    package func elements() async throws -> [ScreenElement] {
        let nodes = try await devTools.call(
            "Accessibility.getFullAXTree", session: session, as: Tree.self
        ).nodes
        let byID = Dictionary(nodes.map { ($0.nodeId, $0) }) { first, _ in first }
        var found: [ScreenElement] = []
        // Depth first, without recursion: how deep a page is, the page decides.
        var waiting = nodes.first.map { [($0.nodeId, 0)] } ?? []
        while let (id, depth) = waiting.popLast(), found.count < 100_000 {
            guard let node = byID[id] else { continue }
            if !node.ignored { found.append(node.element(depth: depth)) }
            waiting += (node.childIds ?? []).reversed().map { ($0, depth + 1) }
        }
        return found
    }

    /// The form on the screen: its title and then each of its texts, in order.
    ///
    /// - Returns: nil without a form.
    package func form() async throws -> [String]? {
        let elements = try await elements()
        guard let start = elements.firstIndex(where: { $0.role == "dialog" }) else { return nil }
        let depth = elements[start].depth
        let texts = elements[(start + 1)...].prefix { $0.depth > depth }
            .filter { $0.role == "StaticText" }.map(\.name)
        return [elements[start].name] + texts
    }

    private struct Tree: Decodable {
        struct Value: Decodable { let value: DevToolsValue? }
        struct Property: Decodable {
            let name: String
            let value: Value
        }
        struct Node: Decodable {
            let nodeId: String
            let ignored: Bool
            let role: Value?
            let name: Value?
            let description: Value?
            let value: Value?
            let properties: [Property]?
            let childIds: [String]?
            let backendDOMNodeId: Int?

            func element(depth: Int) -> ScreenElement {
                let properties = (self.properties ?? []).compactMap { property in
                    property.value.value?.text.map { (property.name, $0) }
                }
                return ScreenElement(
                    role: role?.value?.text ?? "", name: name?.value?.text ?? "",
                    detail: description?.value?.text ?? "", value: value?.value?.text ?? "",
                    properties: Dictionary(properties) { first, _ in first }, depth: depth,
                    node: backendDOMNodeId)
            }
        }
        let nodes: [Node]
    }
}
