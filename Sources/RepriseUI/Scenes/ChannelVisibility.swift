package import Foundation

/// Decides what a channel is told of the views that show it: whether it is on the screen, and how
/// far the user has read.
package struct ChannelVisibility {
    /// What the channel has to be told; nil: nothing new.
    package struct Work: Equatable {
        package var isVisible: Bool?
        package var read: Int64?

        package init(isVisible: Bool? = nil, read: Int64? = nil) {
            (self.isVisible, self.read) = (isVisible, read)
        }
    }

    /// The views that show it, and whether each counts as reading.
    private var views: [UUID: Bool] = [:]
    private var newest: Int64?
    private var told = Work(isVisible: false)
    /// Whether the list may still be the former account's: state and list come in either order.
    private var isListStale = false

    /// No view shows it.
    package init() {}

    package mutating func viewShown(_ view: UUID, marksRead: Bool) { views[view] = marksRead }
    package mutating func viewHidden(_ view: UUID) { views[view] = nil }

    /// - Parameter newest: the greatest sequence of the list; nil: none has one.
    package mutating func listChanged(newest: Int64?) {
        self.newest = newest
        // What was said of a former account's list may have had no effect in this one.
        if isListStale { told.read = nil }
        isListStale = false
    }

    /// Another account has begun, whose channel is not visible, and of which nothing is read.
    package mutating func accountChanged() {
        told = Work(isVisible: false)
        isListStale = true
    }

    /// - Returns: nil if the channel knows everything.
    package mutating func takeWork() -> Work? {
        var work = Work()
        if told.isVisible != !views.isEmpty { work.isVisible = !views.isEmpty }
        // Not only a greater one: a new log begins again at 1.
        if views.values.contains(true), let newest, newest != told.read { work.read = newest }
        guard work != Work() else { return nil }
        told = Work(isVisible: !views.isEmpty, read: work.read ?? told.read)
        return work
    }
}
