"""The market demos: sellers and buyers trade, under transactions or locks."""
