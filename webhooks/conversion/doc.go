// Package conversion translates Rollouts and BatchReleases between v1alpha1 and v1beta1, the version
// that is stored.
//
// A client of v1alpha1 that reads an object, changes something and writes it back must not lose what
// it could not see. So whatever one version has no field for travels in an annotation of the other
// (v1beta1.HubDataAnnotation and v1beta1.SpokeDataAnnotation). On the way back a remembered value
// is used only where what the client could see of it is still the same: edits always win.
//
// A conversion has no way to refuse an object without breaking every list that holds it, so nothing
// in here returns an error or panics, whatever the object looks like.
package conversion
