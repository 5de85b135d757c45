"""The market demos: sellers and buyers, guarded by transactions or by locks."""
