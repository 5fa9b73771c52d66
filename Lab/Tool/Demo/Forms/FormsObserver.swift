import Foundation
import RepriseCore
import ReprisePhone

/// A person's action on a form.
enum FormsAction: Sendable {
    case close
    case press(_ button: String)
    /// Writes into a field, and presses a button.
    case answer(_ field: String, _ text: String, button: String)
}

/// The person before the screen: finds forms through the browser, and closes or answers each once
/// seen.
///
/// An independent checker: it uses no report of an app.
actor FormsObserver {
    struct Sighting: Sendable {
        /// The form's title.
        let title: String
        /// On the clock of the phone's log.
        let microseconds: Int64
    }

    private let app: String
    private let browser: String
    private let clock: LogClock
    private(set) var sightings: [Sighting] = []
    private(set) var isFormOnScreen = false
    private(set) var picture: Data?
    private let takesPicture: Bool
    private let action: FormsAction

    init(app: String, browser: String, takesPicture: Bool, action: FormsAction, clock: LogClock) {
        (self.app, self.browser, self.clock) = (app, browser, clock)
        (self.takesPicture, self.action) = (takesPicture, action)
    }

    /// Looks until the task is cancelled.
    func watch() async {
        while !Task.isCancelled {
            if let page = try? await ChromiumPage.find(app: app, at: browser) {
                // Ends by an error when the page has gone.
                try? await look(at: page)
                isFormOnScreen = false
                await page.letGo()
            }
            try? await Task.sleep(for: .milliseconds(5))
        }
    }

    /// Each rendered form is an element of its own: marked when it is seen, so that none counts
    /// twice.
    private static let news = """
        (() => {
          const form = document.body?.querySelector('div');
          if (!form || form.wasSeen) return false;
          form.wasSeen = true;
          return true;
        })()
        """
    private static let isThere = "document.body?.querySelector('div')?.wasSeen === true"

    private func look(at page: ChromiumPage) async throws {
        while !Task.isCancelled {
            if try await page.evaluate(Self.news) == .bool(true) { try await see(page) }
            try await Task.sleep(for: .milliseconds(2))
        }
    }

    private func see(_ page: ChromiumPage) async throws {
        isFormOnScreen = true
        defer { isFormOnScreen = false }
        let title = try await page.form()?.first ?? "a form without a title"
        sightings.append(Sighting(title: title, microseconds: clock.microseconds))
        if takesPicture, picture == nil { picture = try await page.screenshot() }
        if case .answer(let field, let text, _) = action {
            try await page.click(field, role: "textbox")
            try await page.type(text)
        }
        while !Task.isCancelled {
            switch action {
            case .close: try await page.press("Escape")
            case .press(let button), .answer(_, _, let button): try await page.click(button)
            }
            // A second key only if the first was not heard: the next form is not to be closed
            // unseen.
            let limit = ContinuousClock.now + .seconds(15)
            while ContinuousClock.now < limit {
                guard try await page.evaluate(Self.isThere) == .bool(true) else { return }
                try await Task.sleep(for: .milliseconds(2))
            }
        }
    }
}
